package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/webhook"
)

// webhooks are the node's services for webhooks.
type webhooks struct {
	service   *webhook.Service
	deliverer *webhook.Deliverer
}

// operations returns the service for the API, or nil.
func (w *webhooks) operations() *webhook.Service {
	if w == nil {
		return nil
	}
	return w.service
}

func (n *node) newWebhooks() *webhooks {
	sender := webhook.NewSender(webhook.SenderOptions{
		Guard: webhook.NewGuard(n.Config.WebhookAllowHTTP, n.Config.WebhookAllowTo), Now: n.now, Version: n.Version,
	})
	o := webhook.Options{
		Store: n.store, Sender: sender, Written: n.store.Written, Now: n.now, Log: n.log,
	}
	if !n.Config.OnPostgres() {
		o.Node = "server" // there is only one server of a file
	}
	tries, ages := newTries()
	n.metrics.MustRegister(tries, ages)
	for _, outcome := range []webhook.DeliveryState{webhook.Pending, webhook.Delivered, webhook.Failed} {
		tries.WithLabelValues(string(outcome)) // so that the counters exist before the first try
	}
	o.Observe = func(s webhook.Observation) {
		tries.WithLabelValues(string(s.State)).Inc()
		if s.State == webhook.Delivered && s.Age > 0 {
			ages.Observe(s.Age.Seconds())
		}
	}
	d := webhook.NewDeliverer(o)
	n.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_webhook_in_flight", Help: "Events posted to webhooks of which it is not recorded yet what came.",
	}, func() float64 { return float64(d.InFlight()) }))
	return &webhooks{&webhook.Service{Store: n.store, Sender: sender, Now: n.now, Wake: d.Wake}, d}
}

func newTries() (*prometheus.CounterVec, prometheus.Histogram) {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_webhook_tries_total",
			Help: "Events posted to webhooks, by what came of it: delivered, pending (it is tried again), failed (it is not).",
		}, []string{"outcome"}), prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "petstore_webhook_delivery_seconds",
			Help:    "Time from the change to the answer of the webhook, of events delivered at the first try.",
			Buckets: []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 60},
		})
}
