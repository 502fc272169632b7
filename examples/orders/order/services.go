package order

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/downstream"
)

// Timeout bounds each request to a service. An order has two, and API Gateway waits 30 seconds at most.
const Timeout = 5 * time.Second

// Services are what an order has its effects at. Each does a thing once for each key: repeated with the same key and the same
// request it answers as before. After an error a service may have acted, and only a repetition with the same key is safe.
type Services struct {
	Stock    Stock
	Payments payments.Provider
}

// The names of the services.
const (
	StockName    = "STOCK"
	PaymentsName = "PAYMENTS"
)

// Connect returns the services, of which connect knows a client by name.
func Connect(connect func(name string) (*downstream.Client, error)) (Services, error) {
	clients := map[string]*downstream.Client{}
	for _, name := range []string{StockName, PaymentsName} {
		client, err := connect(name)
		if err != nil {
			return Services{}, err
		}
		clients[name] = client
	}
	return Services{Stock{clients[StockName]}, payments.At(clients[PaymentsName])}, nil
}

// Stock reserves goods.
type Stock struct{ service *downstream.Client }

// Goods are what is to be reserved, and their JSON is what the stock gets.
type Goods struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// Reserve reserves goods and returns the id of the reservation.
func (s Stock) Reserve(ctx context.Context, key string, g Goods) (id string, err error) {
	return create(ctx, s.service, "v1/reservations", key, g)
}

// Cancel undoes a reservation.
func (s Stock) Cancel(ctx context.Context, key, id string) error {
	return s.service.Do(ctx, http.MethodDelete, "v1/reservations/"+url.PathEscape(id), key, nil, nil)
}

// create makes something at a service and returns its id.
func create(ctx context.Context, service *downstream.Client, path, key string, what any) (id string, err error) {
	var created struct{ ID string }
	if err := service.Do(ctx, http.MethodPost, path, key, what, &created); err != nil {
		return "", err
	}
	if created.ID == "" {
		return "", service.Misunderstood("the answer has no id")
	}
	return created.ID, nil
}
