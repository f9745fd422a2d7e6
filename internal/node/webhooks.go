package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/webhook"
)

// openWebhooks makes the service and the deliverer of webhooks, with their metrics.
func (n *node) openWebhooks() {
	sender := webhook.NewSender(webhook.SenderOptions{
		Guard: webhook.NewGuard(n.Config.WebhookAllowHTTP, n.Config.WebhookAllowTo), Now: n.now, Version: n.Version,
	})
	tries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petstore_webhook_tries_total",
		Help: "Events posted to webhooks, by what came of it: delivered, pending (it is tried again), failed (it is not).",
	}, []string{"outcome"})
	ages := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "petstore_webhook_delivery_seconds",
		Help:    "Time from the change to the answer of the webhook, of events delivered at the first try.",
		Buckets: []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 60},
	})
	for _, outcome := range []webhook.DeliveryState{webhook.Pending, webhook.Delivered, webhook.Failed} {
		tries.WithLabelValues(string(outcome)) // so that the counters exist before the first try
	}
	o := webhook.Options{
		Store: n.store, Sender: sender, Written: n.store.Written, Now: n.now, Log: n.log,
		Observe: func(s webhook.Observation) {
			tries.WithLabelValues(string(s.State)).Inc()
			if s.State == webhook.Delivered && s.Age > 0 {
				ages.Observe(s.Age.Seconds())
			}
		},
	}
	if !n.Config.OnPostgres() {
		o.Node = "server" // there is only one server of a file
	}
	n.deliverer = webhook.NewDeliverer(o)
	n.webhooks = &webhook.Service{Store: n.store, Sender: sender, Now: n.now, Wake: n.deliverer.Wake}
	n.metrics.MustRegister(tries, ages)
}
